internal import CSQLite
internal import LatchkeyMetrics
internal import LatchkeyStore
internal import LatchkeySync
internal import Synchronization

/// The thread's work after a failed transaction, and at its end.
///
/// **Design.** All of it runs on the writing thread.
extension WriterThread {
    /// Holds the batch if it can be written later; else nothing is written any more.
    func fail(_ failure: BatchFailure) {
        loop.statistics.failures.add()
        switch failure.consequence {
        case .held(let reason):
            mode = .held
            nextTry = .now + loop.tuning.tryInterval
            if reason == .full, room.giveUp() { nextTry = .now }
            needsNewLog = needsNewLog || failure.mayHaveWritten
            loop.refuse(reason)
            report(0, .failed(failure.message, endsByItself: true))
            if failure.message != loggedFailure {
                loop.log(true, "writes-fail", [("reason", failure.message)])
                loggedFailure = failure.message
            }
        case .fatal:
            loop.fail(failure.message)
            mode = .ended
            abandon()
        }
    }

    /// If the folder is gone, lets all clients see the commits that will never be written.
    ///
    /// The state in memory is the last copy. The clients that made the changes are told that the
    /// outcome is not known.
    func abandon() {
        guard loop.isLost, loop.durability == .always else { return }
        let last = loop.inbox.write { inbox in
            while inbox.queue.isReady {
                batch.removeAll()
                inbox.queue.take(into: &batch)
            }
            return inbox.queue.next - 1
        }
        batch.removeAll()
        loop.releases.write { $0.abandoned = max($0.abandoned, last) }
    }

    /// Closes the log, and notes that everything is on the disk.
    func end() {
        guard mode == .normal, !loop.hasFailed, !loop.loses() else { return }
        do throws(PersistenceFailure) {
            // Everything that was shown is on the disk.
            try writer.notes.bound(0)
        } catch {
            log(error)
        }
        do throws(DatabaseError) {
            try writer.beginNewLog(SQLITE_CHECKPOINT_TRUNCATE)
            writer.connection.keepLog(false)
            settleNotes()
        } catch {
            guard error.isBusy || error.isFull else {
                return loop.fail(PersistenceFailure(error, writer.path).message)
            }
            // The log stays, and is read at the next start.
            loop.log(false, "log-stays", [("reason", error.text)])
        }
    }

    private func settleNotes() {
        do throws(PersistenceFailure) {
            try writer.notes.settle()
        } catch {
            log(error)
        }
    }
}
