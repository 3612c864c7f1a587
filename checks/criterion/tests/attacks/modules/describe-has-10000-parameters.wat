;; misdescribed | 10000 parameters; the limit is 64
;; 10,000 times the same record of 56 zero bytes.
(memory 16)
(data (i32.const 1048) "\00\00\01\00\10\27\00\00")
