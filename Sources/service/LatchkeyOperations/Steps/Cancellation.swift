internal import LatchkeySync

/// The request that an operation stops; its steps poll it or are told.
///
/// **Design.** One lock guards both fields. The closure is called without it, at most once.
package final class Cancellation: Sendable {
    private struct Wish {
        var isCancelled = false
        var stop: (@Sendable () -> Void)?
    }

    private let wish = Guarded<Wish>(Wish())

    package init() {}

    package var isCancelled: Bool { wish.read { $0.isCancelled } }

    /// Calls a closure when the operation is to stop: at once if it was told already.
    ///
    /// It replaces the closure of an earlier step.
    func onCancel(_ stop: (@Sendable () -> Void)?) {
        let isLate = wish.write { wish in
            wish.stop = wish.isCancelled ? nil : stop
            return wish.isCancelled
        }
        if isLate { stop?() }
    }

    package func cancel() {
        let stop = wish.write { wish in
            wish.isCancelled = true
            defer { wish.stop = nil }
            return wish.stop
        }
        stop?()
    }
}
