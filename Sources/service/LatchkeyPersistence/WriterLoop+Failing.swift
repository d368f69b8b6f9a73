internal import CLatchkeySystem
internal import LatchkeyStore
internal import LatchkeySync
internal import Synchronization

/// Whether changes are accepted, and what happens where the disk fails or hangs.
///
/// **Design.** Any thread asks; those that write refuse, accept and fail.
extension WriterLoop {
    /// Why no change is accepted now; nil while they are.
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
        // Each is said before it refuses: what was said meanwhile stays.
        if isLost { refuse(.gone) }
        if hasFailed { refuse(.failing) }
    }

    /// Whether the process is to end.
    var hasFailed: Bool { failed.load(ordering: .acquiring) }

    /// Has the process end, since the disk cannot be relied upon, unless the folder is gone.
    ///
    /// Any thread that writes; nothing is written afterwards.
    func fail(_ message: String) {
        guard !loses(), !failed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        refuse(.failing)
        progress.write { $0.health = .failed(message, endsByItself: false) }
        log(
            true,
            "writes-fail",
            [("reason", message), ("consequence", "the process ends; its restart reads the disk")]
        )
        // Its condition asks for the failure, too.
        inbox.write { _ in }
        callbacks.failed()
    }

    /// Says that the writing thread does something, or that it waits: all that it does can hang.
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
    /// On the thread that never uses the disk.
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
