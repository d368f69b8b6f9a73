public import LatchkeySync

// What is different where a hook is attached. None of it is on the way of a store without one.

extension PropertyStore {
    @inlinable
    @inline(never)
    func lookWithheld(
        _ name: PropertyName,
        _ hook: CommitHook,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Property?) -> Void
    ) {
        stripes.submitRead(
            index(name),
            observer: observer,
            { $0.find(name) },
            completion: hook.withholding(completion)
        )
    }

    @inlinable
    @inline(never)
    func executeWithheld(
        _ prepared: PreparedChange,
        at time: Timestamp,
        _ stripe: Int,
        _ hook: CommitHook,
        observer: some EntryObserver,
        completion: @escaping @Sendable (Decision) -> Void
    ) throws(BacklogFull) {
        try submitWrite(
            stripe,
            observer: observer,
            { $0.executeWithheld(prepared, at: time) },
            completion: hook.passing(completion)
        )
    }
}

extension CommitHook {
    /// A completion that brings an answer once it may be seen.
    @usableFromInline
    func withholding(
        _ completion: @escaping @Sendable (Property?) -> Void
    ) -> @Sendable (Withheld<Property?>) -> Void {
        { [self] answer in
            whenReleased(answer.revision) { completion(answer.value) }
        }
    }

    /// A completion that gives a commit to whoever is behind the hook, and brings the answer once
    /// it may be seen.
    @usableFromInline
    func passing(
        _ completion: @escaping @Sendable (Decision) -> Void
    ) -> @Sendable (Withheld<Decision>) -> Void {
        { [self] answer in
            if case .success(let commit) = answer.value {
                pass(commit)
            }
            whenReleased(answer.revision) { completion(answer.value) }
        }
    }
}

extension CommitContext {
    /// A completion of an eviction that passes the hook.
    @usableFromInline
    func passing(
        _ completion: @escaping @Sendable (Commit?) -> Void
    ) -> @Sendable (Commit?) -> Void {
        guard let hook else {
            return completion
        }
        return { commit in
            guard let commit else {
                return completion(nil)
            }
            hook.pass(commit)
            hook.whenReleased(commit.revision) { completion(commit) }
        }
    }

    /// A completion of a commit from elsewhere, which is released.
    @usableFromInline
    func releasing(
        _ commit: Commit,
        _ completion: @escaping @Sendable () -> Void
    ) -> @Sendable () -> Void {
        { [hook] in
            hook?.release(through: commit.revision)
            completion()
        }
    }

    /// A completion of a listing that waits for the revision of the page.
    @usableFromInline
    func withholding(
        _ completion: @escaping @Sendable (Page) -> Void
    ) -> @Sendable (Page) -> Void {
        guard let hook else {
            return completion
        }
        return { page in
            hook.whenReleased(page.revision) { completion(page) }
        }
    }
}
