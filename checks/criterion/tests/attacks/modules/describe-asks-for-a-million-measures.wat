;; over_limit | its answer has more than 16 MiB
(memory 400)
(data (i32.const 1056) "\00\00\01\00\40\42\0f\00")
