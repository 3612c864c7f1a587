;; not_a_component | exceptions
(component (core module (tag) (func (throw 0))))
