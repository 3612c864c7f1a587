;; trapped | utf-8
(data (i32.const 1040) "\04\10\00\00\01\00\00\00")
(data (i32.const 4100) "\ff")
