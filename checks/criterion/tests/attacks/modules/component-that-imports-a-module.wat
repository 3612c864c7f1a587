;; imports | imports `m`
(component (import "m" (core module)))
