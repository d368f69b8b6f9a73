internal import CLatchkeySystem

/// The looks of a waiter that never sleeps, before it yields its processor.
enum Pauses {
    /// How often it looks: for about a microsecond, a few times the length of the sections that a
    /// spin lock is for.
    static let countMax = 64

    /// Looks, with a pause after each look; whether the lock was free at one of them.
    static func pass(until isFree: () -> Bool) -> Bool {
        for _ in 0..<countMax {
            if isFree() { return true }
            latchkey_system_pause()
        }
        return false
    }

    /// Looks until it is over; beyond the limit, yields before each look.
    static func wait(until isOver: () -> Bool) {
        if !pass(until: isOver) {
            while !isOver() {
                latchkey_system_yield()
            }
        }
    }
}
