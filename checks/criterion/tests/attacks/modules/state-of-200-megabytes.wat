;; over_limit | giving its state: its answer has more than 16 MiB
(memory 3200)
(data (i32.const 5004) "\00\00\80\0c")
(func $state (result i32) i32.const 5000)
