public import Synchronization

/// A value that goes up and down: one atomic number, for things that change seldom.
///
/// **Design.** Any thread changes the number by one atomic operation, which orders nothing else. A
/// number that changes at every operation belongs in a ``Counter``, or in a collector that computes
/// it when it is read.
@usableFromInline package final class Gauge: Sendable {
    @usableFromInline let number = Atomic<Int>(0)

    package init() {}

    // Relaxed throughout: the number stands for itself and orders nothing.

    @inlinable
    package func set(_ value: Int) {
        number.store(value, ordering: .relaxed)
    }

    @inlinable
    package func add(_ amount: Int) {
        number.wrappingAdd(amount, ordering: .relaxed)
    }

    @inlinable package var value: Int {
        number.load(ordering: .relaxed)
    }
}
