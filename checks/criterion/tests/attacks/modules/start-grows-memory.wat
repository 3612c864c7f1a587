;; over_limit | MiB of memory asked for, 256 allowed
(func $begin (loop (drop (memory.grow (i32.const 256))) (br 0)))
(start $begin)
