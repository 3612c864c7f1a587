;; parameters | which is none of its parameters
(data (i32.const 1056) "\04\10\00\00\01\00\00\00")
(data (i32.const 4100) "\08")
