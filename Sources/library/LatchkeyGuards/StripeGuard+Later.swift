internal import LatchkeyContention
public import LatchkeySync
internal import Synchronization

extension StripeGuard {
    /// Submits an access.
    ///
    /// `body` runs inside, and then `completion`, outside: at once if the guard
    /// is one that blocks.
    ///
    /// - Throws: ``BacklogFull`` if as many accesses wait as the strategy accepts.
    @usableFromInline func submit(
        _ mode: AccessMode,
        _ ask: Ask,
        _ body: @escaping @Sendable (ValuePlace) -> Void,
        completion: @escaping @Sendable () -> Void
    ) throws(BacklogFull) {
        var access = Access(mode, ask, isSubmitted: true)
        guard let section = counts(where: { $0.appliesLater(mode) }), let queue = section.queue
        else {
            run(&access, body)
            return completion()
        }
        defer { section.askers.subtract(1, ordering: .sequentiallyConsistent) }
        try queue.admit(mode)
        access.asks(section, isTimed: shared.isSwitching.load(ordering: .relaxed))
        if !queue.joins(mode) { access.isBlocked() }
        let submitted = SubmittedAccess(access, self, ask, { body(.inPlace) }, completion)
        queue.enqueue(mode) {
            submitted.run()
            queue.leaves(mode)
            queue.dismiss(mode)
            queue.complete { submitted.complete() }
        }
    }

    /// Counts the caller as an asker of the guard that new accesses ask, if it is a guard that can
    /// apply accesses later; nil if it is not.
    ///
    /// The count goes up before the index is loaded again. So either the caller finds the index of
    /// a switch that has not seen it, or that switch waits until the caller was accepted.
    func counts(where isLate: (Guard) -> Bool) -> Guard? {
        while true {
            let word = index.load(ordering: .acquiring)
            let section = self[word]
            guard isLate(section) else { return nil }
            shared.step?(.loaded)
            section.askers.add(1, ordering: .sequentiallyConsistent)
            shared.step?(.counted)
            if self[index.load(ordering: .sequentiallyConsistent)] === section {
                shared.step?(.chosen)
                return section
            }
            section.askers.subtract(1, ordering: .sequentiallyConsistent)
        }
    }
}

/// An access that was submitted, until its completion has been called.
///
/// **Design.** A queue destroys a block before others can enter. An object that a body or its
/// completion holds may enter the stripe when it is destroyed. So the block has only this object,
/// and the caller of the completion takes both out, outside of the section.
///
/// SAFETY: `@unchecked Sendable` because the queue uses it first, and after that the one that calls
/// the completion.
private final class SubmittedAccess: @unchecked Sendable {
    private var access: Access
    /// Kept with ``ask``, because the access does not keep them.
    private let stripe: StripeGuard
    private let ask: Ask
    private var body: (@Sendable () -> Void)?
    private var completion: (@Sendable () -> Void)?

    init(
        _ access: Access,
        _ stripe: StripeGuard,
        _ ask: Ask,
        _ body: @escaping @Sendable () -> Void,
        _ completion: @escaping @Sendable () -> Void
    ) {
        (self.access, self.stripe, self.ask) = (access, stripe, ask)
        (self.body, self.completion) = (body, completion)
    }

    /// Inside.
    func run() {
        access.enters()
        body?()
        access.leaves()
        stripe.shared.note(access)
    }

    /// Outside.
    func complete() {
        let (body, completion) = (body.take(), completion.take())
        withExtendedLifetime(body) { completion?() }
    }
}
