;; over_limit | table entries asked for, 100000 allowed
(table 9999999 funcref)
