internal import Dispatch
package import LatchkeyGuards
package import LatchkeySync

// How a change is decided and answered.

extension PropertyStore {
    package func commit(
        _ change: Change,
        attempt: Int,
        _ ask: Ask,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        if let reason = parts.refusal?(), reason != .low || !change.onlyRemoves {
            return receiver.receive(.failure(.unavailable(reason)))
        }
        try execute(change, at: nil, attempt, ask, receiver)
    }

    /// Decides a change as if it were this time, and makes it or refuses it.
    ///
    /// It makes no room, and does not ask whether changes are accepted.
    ///
    /// Without a time, the store's clock is read inside the guarded section.
    ///
    /// Deterministic: the same changes at the same times in the same order make the same store,
    /// revisions and answers included, under every strategy, with any number of stripes, and in
    /// every process.
    package func execute(
        _ change: Change,
        at time: Timestamp?,
        _ ask: Ask,
        receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        try execute(change, at: time, nil, ask, receiver)
    }

    private func execute(
        _ change: Change,
        at time: Timestamp?,
        _ attempt: Int?,
        _ ask: Ask,
        _ receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        var byteCount = 0
        if let hook = parts.hook {
            byteCount = change.byteCount
            try hook.admit(byteCount)
        }
        switch change {
        case .step(let step):
            if let answer = decide(step, at: time, byteCount, ask) {
                return settle(answer, change, attempt, ask, receiver)
            }
            try submit(change, at: time, attempt, byteCount, ask, receiver)
        case .transaction(let transaction):
            let prepared = PreparedTransaction(
                transaction,
                at: time,
                stripeCount: stripes.count,
                stripe: index
            )
            let answer = decide(prepared, byteCount, ask)
            if let answer, let decided = answer {
                return settle(decided, change, attempt, ask, receiver)
            }
            let hasBegun = answer != nil
            try submit(change, prepared, hasBegun, attempt, byteCount, ask, receiver)
        }
    }

    /// Decides a change of one step, if its guard does that at once.
    @inline(never)
    private func decide(
        _ step: Change.Step,
        at time: Timestamp?,
        _ byteCount: Int,
        _ ask: Ask
    ) -> Withheld<Decision>? {
        let stripe = index(step.name)
        guard !stripes.appliesLater(stripe, .write) else { return nil }
        let property = step.prepare()
        return stripes.write(stripe, ask) {
            $0.execute(step, property, at: time, takenByteCount: byteCount)
        } published: {
            context.published()
        }
    }

    /// Decides a transaction, if the guard of its first stripe does that at once.
    ///
    /// - Returns: Nil if nothing was done; the inner value is nil if its pops have to pass more
    ///   names than the limit.
    @inline(never)
    private func decide(
        _ prepared: PreparedTransaction,
        _ byteCount: Int,
        _ ask: Ask
    ) -> Withheld<Decision>?? {
        stripes.writeAtOnce(several: prepared.tables.stripes, ask) {
            $0.execute(prepared, takenByteCount: byteCount)
        } published: {
            context.published()
        }
    }

    @inline(never)
    private func submit(
        _ change: Change,
        at time: Timestamp?,
        _ attempt: Int?,
        _ byteCount: Int,
        _ ask: Ask,
        _ receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        guard case .step(let step) = change else { return }
        let property = step.prepare()
        do throws(BacklogFull) {
            try stripes.submitWrite(
                index(step.name),
                ask,
                { $0.execute(step, property, at: time, takenByteCount: byteCount) },
                published: { [context] in context.published() },
                completion: { [self] in settle($0, change, attempt, ask, receiver) }
            )
        } catch {
            parts.hook?.giveBack(byteCount)
            throw error
        }
    }

    // `hasBegun` is whether this thread has already tried to decide it.
    @inline(never)
    private func submit(
        _ change: Change,
        _ prepared: PreparedTransaction,
        _ hasBegun: Bool,
        _ attempt: Int?,
        _ byteCount: Int,
        _ ask: Ask,
        _ receiver: some DecisionReceiver
    ) throws(BacklogFull) {
        let completion = { @Sendable [self] (answer: Withheld<Decision>) in
            settle(answer, change, attempt, ask, receiver)
        }
        guard !hasBegun else { return goOn(prepared, byteCount, ask, completion) }
        do throws(BacklogFull) {
            try submit(prepared, byteCount, ask, completion)
        } catch {
            parts.hook?.giveBack(byteCount)
            throw error
        }
    }

    /// Submits a transaction, whose pops may have to pass more names than the limit.
    ///
    /// Then it is decided again, and other accesses enter the stripes in between.
    ///
    /// - Throws: ``BacklogFull``. After the return, a full backlog is retried: a replica must
    ///   decide each change that it has begun.
    private func submit(
        _ prepared: PreparedTransaction,
        _ byteCount: Int,
        _ ask: Ask,
        _ completion: @escaping @Sendable (Withheld<Decision>) -> Void
    ) throws(BacklogFull) {
        try stripes.submitWrite(
            several: prepared.tables.stripes,
            ask,
            { $0.execute(prepared, takenByteCount: byteCount) },
            published: { [context] in context.published() },
            completion: { [self] answer in
                guard let answer else { return goOn(prepared, byteCount, ask, completion) }
                completion(answer)
            }
        )
    }

    /// Decides a transaction again on another thread: the serving thread passes no more names.
    private func goOn(
        _ prepared: PreparedTransaction,
        _ byteCount: Int,
        _ ask: Ask,
        _ completion: @escaping @Sendable (Withheld<Decision>) -> Void
    ) {
        DispatchQueue.global().async {
            Self.untilAccepted { [self] () throws(BacklogFull) in
                try submit(prepared, byteCount, ask, completion)
            }
        }
    }

    /// Submits again and again while the strategy refuses it.
    static func untilAccepted(_ submit: @escaping @Sendable () throws(BacklogFull) -> Void) {
        do throws(BacklogFull) {
            try submit()
        } catch {
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(1)) {
                untilAccepted(submit)
            }
        }
    }
}

extension PropertyStore {
    /// Answers a change, once the revision that the answer depends on may be seen.
    private func settle(
        _ answer: Withheld<Decision>,
        _ change: Change,
        _ attempt: Int?,
        _ ask: Ask,
        _ receiver: some DecisionReceiver
    ) {
        guard let hook = parts.hook else {
            return finish(answer.value, change, attempt, ask, receiver)
        }
        if case .success(let commit) = answer.value, !commit.isEmpty {
            pass(commit, hook, receiver)
        } else if answer.revision <= hook.released {
            finish(answer.value, change, attempt, ask, receiver)
        } else {
            wait(for: answer, hook, change, attempt, ask, receiver)
        }
    }

    @inline(never)
    private func pass(
        _ commit: Commit,
        _ hook: CommitHook,
        _ receiver: some DecisionReceiver
    ) {
        let note = receiver.note(for: commit)
        hook.pass(commit, note: note) { [self] release in
            record(commit)
            switch release {
            case .written: receiver.receive(.success(commit))
            case .unwritten: receiver.receive(.failure(.unavailable(.unknown)))
            }
        }
    }

    @inline(never)
    private func wait(
        for answer: Withheld<Decision>,
        _ hook: CommitHook,
        _ change: Change,
        _ attempt: Int?,
        _ ask: Ask,
        _ receiver: some DecisionReceiver
    ) {
        hook.whenReleased(answer.revision) { [self] in
            finish(answer.value, change, attempt, ask, receiver)
        }
    }

    /// Hands on a decision, or makes room first and commits again.
    private func finish(
        _ decision: Decision,
        _ change: Change,
        _ attempt: Int?,
        _ ask: Ask,
        _ receiver: some DecisionReceiver
    ) {
        switch decision {
        case .success(let commit): record(commit)
        case .failure(.full(let full)):
            if let attempt, let evictor = parts.evictor {
                return evictor.commitAgain(change, full, attempt, ask, receiver)
            }
        case .failure: break
        }
        receiver.receive(decision)
    }

    /// Gives a commit with an effect to the followers of the store, before the receiver gets it.
    private func record(_ commit: Commit) {
        if !commit.isEmpty {
            parts.expiries?.note(commit)
            parts.journal?.append(commit)
        }
    }
}
