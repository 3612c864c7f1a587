;; imports | imports `host-time`
(component (import "host-time" (func (result u64))))
