;; imports | imports `wasi:filesystem/types@0.2.0`
(component (import "wasi:filesystem/types@0.2.0" (instance)))
