;; trapped | out of bounds
(data (i32.const 1048) "\00\00\01\00\ff\ff\ff\7f")
