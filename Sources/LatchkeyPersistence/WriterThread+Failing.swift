internal import Dispatch
internal import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeySync
internal import Synchronization

/// What the thread does when a transaction was not made.
///
/// **Design.** All of it runs on the writing thread. It waits until commits are taken back, which
/// other threads do, before it writes again.
extension WriterThread {
    func fail(_ failure: BatchFailure) {
        loop.statistics.failures.add()
        let isFirst = mode == .normal
        nextProbe = .now + loop.tuning.probeInterval
        switch failure.consequence {
        case .refused(let reason):
            mode = mode == .refusing ? .refusing : .failing
            needsNewLog = needsNewLog || failure.mayHaveWritten
            refuse(failure, reason, isFirst)
        case .unknown:
            mode = .refusing
            needsNewLog = true
            refuse(failure, .unknown, isFirst)
        case .fatal:
            mode = .ended
            refuse(failure, .unavailable, isFirst)
        }
    }

    private func refuse(_ failure: BatchFailure, _ reason: Withdrawal, _ isFirst: Bool) {
        let accepts = mode == .failing && loop.durability == .always
        loop.acceptsWrites.store(accepts, ordering: .relaxed)
        report(0, .failed(failure.message, endsByItself: mode != .ended))
        if isFirst || mode == .ended || failure.message != loggedFailure {
            loop.log(true, "writes-fail", [("reason", failure.message)])
            loggedFailure = failure.message
        }
        withdraw(reason)
    }

    /// Makes a probe, or withdraws what has come although writes are refused.
    func tryAgain(_ isStopping: Bool) {
        if mode == .refusing, loop.durability == .always, loop.inbox.read({ $0.queue.count > 0 }) {
            withdraw(.unavailable)
        }
        // A commit that waits is tried at once, a probe when it is due.
        let isDue = ContinuousClock.now >= nextProbe || isStopping
        if isDue || mode == .failing && !batch.isEmpty && loop.durability == .always {
            makeTransaction(isProbe: true)
        }
    }

    /// Takes back all commits that are not on the disk.
    func withdraw(_ reason: Withdrawal) {
        guard loop.durability == .always else {
            return
        }
        let last = batch.last?.commit.revision
        batch.removeAll(keepingCapacity: true)
        // What waits behind the batch was not written: its outcome is known.
        if loop.inbox.read({ $0.queue.count > 0 }) {
            let reason = reason == .unknown ? .unavailable : reason
            takeBack(after: last ?? writer.lastRevision, reason)
        }
        if last != nil {
            takeBack(after: writer.lastRevision, reason)
        }
    }

    private func takeBack(after revision: Revision, _ reason: Withdrawal) {
        let done = DispatchSemaphore(value: 0)
        loop.callbacks.withdraw(revision, reason) { [loop] in
            loop.inbox.write { $0.queue.drop(after: revision) }
            done.signal()
        }
        done.wait()
    }
}
