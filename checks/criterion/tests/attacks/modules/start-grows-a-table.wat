;; over_limit | table entries asked for, 100000 allowed
(table $t 1 funcref)
(func $begin (loop (drop (table.grow $t (ref.null func) (i32.const 10000))) (br 0)))
(start $begin)
