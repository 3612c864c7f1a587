;; over_limit | its stack grew beyond 512 KiB
(func $begin (call $begin))
(start $begin)
