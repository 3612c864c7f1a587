;; trapped | its verdict
(data (i32.const 2052) "\09")
