internal import CLatchkeySystem
internal import LatchkeyStore
internal import LatchkeySync
internal import Synchronization

/// Whether changes are accepted, and the reaction to a disk that fails or hangs.
///
/// **Design.** Any thread asks; the writing threads refuse, accept and fail.
extension WriterLoop {
    /// The reason why no change is accepted now; nil while changes are accepted.
    var unavailability: Unavailability? {
        Unavailability(rawValue: refused.load(ordering: .relaxed))
    }

    /// Accepts no change any more.
    func refuse(_ reason: Unavailability) {
        refused.store(isLost ? Unavailability.gone.rawValue : reason.rawValue, ordering: .relaxed)
    }

    /// Accepts changes again; while the disk is low, only those that remove.
    func accept(_ isLow: Bool) {
        guard !isLost, !hasFailed else { return }
        refused.store(isLow ? Unavailability.low.rawValue : 0, ordering: .relaxed)
        // Each flag is set before it refuses: a flag that was set meanwhile stays in force.
        if isLost { refuse(.gone) }
        if hasFailed { refuse(.failing) }
    }

    /// Whether the process is to end.
    var hasFailed: Bool { failed.load(ordering: .acquiring) }

    /// Ends the process, since the disk is not reliable, unless the folder is gone.
    ///
    /// Called by any writing thread; nothing is written afterwards.
    func fail(_ message: String) {
        guard !loses(), !failed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        refuse(.failing)
        progress.write { $0.health = .failed(message, endsByItself: false) }
        log(
            true,
            "writes-fail",
            [("reason", message), ("consequence", "the process ends; its restart reads the disk")]
        )
        // The conditions of the inbox check for the failure, too.
        inbox.write { _ in }
        callbacks.failed()
    }

    /// Notes that the writing thread works, or that it waits: all its work can hang.
    func writes(_ does: Bool) {
        writeStart.store(does ? latchkey_system_nanoseconds() : 0, ordering: .relaxed)
    }

    /// How long the disk has not answered, if that is too long.
    var hang: Duration? {
        let (start, now) = (writeStart.load(ordering: .relaxed), latchkey_system_nanoseconds())
        guard start != 0, now > start else { return nil }
        let elapsed = Duration.nanoseconds(Int64(clamping: now - start))
        return elapsed >= tuning.hangInterval ? elapsed : nil
    }

    /// Logs that the disk does not answer, or does again; returns whether it hangs.
    ///
    /// Called on the thread that never uses the disk.
    func noteHang(_ wasHanging: Bool) -> Bool {
        let hang = hang
        if let hang, !wasHanging {
            let reason = "a write has not ended; writers and their answers wait for it"
            log(
                true,
                "disk-hangs",
                [("seconds", "\(hang.components.seconds)"), ("reason", reason)]
            )
        } else if hang == nil, wasHanging {
            log(false, "disk-answers", [])
        }
        return hang != nil
    }
}
