;; not_a_component | async
(component (type $t (future u8)) (core func (canon future.new $t)))
