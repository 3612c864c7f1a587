;; over_limit | 4096 MiB of memory asked for, 256 allowed
(memory 65536)
