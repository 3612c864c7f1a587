;; trapped | giving its state
(data (i32.const 5004) "\00\00\00\40")
(func $state (result i32) i32.const 5000)
