import CLatchkeySystem
import LatchkeySync
import Synchronization

/// The sampled accesses that wait now, and whom they wait for.
///
/// **Design.** A waiter takes a slot before it waits, and its guard's probe has the slot's bit
/// meanwhile: each access that leaves that guard looks at the slot and may put itself into it. A
/// wait is usually caused by many holders. The one that is blamed for all of it is drawn at random,
/// each holder with the share of the wait that it was inside for (weighted reservoir sampling), so
/// that over many waits each place gets the delay that it caused. To blame the last holder instead
/// would blame whoever stands before the waiter in the queue, and not the one that all wait for.
///
/// *Cost.* Under an unfair lock thousands of accesses can leave during one wait. The first
/// ``looksMax`` of them are looked at, and stand for the later ones: an access begins to wait while
/// somebody is inside, and most likely somebody who stays for long.
///
/// *Who writes a slot.* The thread that moved its state with an exchange: `open` → `active` by the
/// waiter, `active` → `busy` and back by one that leaves, `active` → `ended` by the waiter when it
/// has entered. Each exchange that takes the slot acquires, each that hands it on releases. No
/// thread waits for a `busy` slot: another one that leaves passes it by, and a waiter that ends
/// gives the slot up (`abandoned`), which counts as lost; then the one that is busy frees it.
///
/// A slot can belong to another guard when somebody who saw the bit gets to it: so it has the
/// number of its guard.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because the words are atomic and live as long as this
/// object.
@safe
final class ProfileWaits: @unchecked Sendable {
    /// As many sampled waits at once as a word has bits.
    static let countMax = 64
    /// How many accesses that leave during one wait are looked at.
    static let looksMax = 32

    private enum State {
        static let open: UInt64 = 0
        static let active: UInt64 = 1
        static let busy: UInt64 = 2
        static let abandoned: UInt64 = 3
        static let ended: UInt64 = 4
    }

    // The places of a slot's words.
    private static let state = 0
    private static let probe = 1
    private static let since = 2
    private static let lastLook = 3
    private static let shared = 4
    private static let random = 5
    private static let weight = 6
    private static let looks = 7
    private static let record = 8
    // A whole number of cache lines.
    private static let stride = (record + ProfileRecord.wordCount + 7) / 8 * 8

    private let words = unsafe ProfileRecord.allocate(count: countMax * stride)
    /// A bit for each free slot.
    private let open = Atomic<UInt64>(.max)
    private let table: ProfileTable

    init(_ table: ProfileTable) {
        self.table = table
    }

    deinit {
        unsafe words.deallocate()
    }

    /// Begins a wait of the calling thread; nil if all slots are in use.
    ///
    /// - Parameters:
    ///   - lock: The number of the lock.
    ///   - probe: Identifies the guard.
    ///   - isWrite: Whether it asks for exclusive access.
    ///   - site: Where it asks.
    ///   - weight: The contentions that it stands for.
    /// - Returns: The slot.
    func begin(
        lock: Int,
        probe: UInt64,
        isWrite: Bool,
        at site: CallSite,
        weight: UInt64
    ) -> Int? {
        guard let index = take() else {
            table.lose(weight)
            return nil
        }
        let (slot, record) = slot(index)
        record.begin(lock: lock, waitsToWrite: isWrite, at: site)
        let now = latchkey_system_nanoseconds()
        slot[Self.probe] = probe
        slot[Self.since] = now
        slot[Self.lastLook] = now
        slot[Self.shared] = 0
        slot[Self.looks] = 0
        slot[Self.random] = now &* 0x9E37_79B9_7F4A_7C15 | 1
        slot[Self.weight] = weight
        move(slot, to: State.active)
        return index
    }

    /// Lets those that wait at a guard blame the calling thread, which leaves it.
    ///
    /// - Parameters:
    ///   - slots: A bit for each slot of the guard.
    ///   - probe: Identifies the guard.
    ///   - sharesWithReaders: Whether the calling thread does not keep readers out.
    ///   - site: Where it entered.
    /// - Returns: A bit for each slot that has looked at enough.
    func blame(
        _ slots: UInt64,
        probe: UInt64,
        sharesWithReaders: Bool,
        at site: CallSite
    ) -> UInt64 {
        let now = latchkey_system_nanoseconds()
        var rest = slots
        var satisfied: UInt64 = 0
        while rest != 0 {
            let index = rest.trailingZeroBitCount
            rest &= rest &- 1
            let (slot, record) = slot(index)
            guard exchange(slot, State.active, State.busy) else { continue }
            if slot[Self.probe] == probe, record.waitsToWrite || !sharesWithReaders {
                blame(slot, record, now, site)
                slot[Self.looks] += 1
                if slot[Self.looks] >= Self.looksMax {
                    satisfied |= 1 << UInt64(index)
                }
            }
            if !exchange(slot, State.busy, State.active) {
                free(index, slot)
            }
        }
        return satisfied
    }

    private func blame(_ slot: Slot, _ record: ProfileRecord, _ now: UInt64, _ site: CallSite) {
        // The clocks of two processors may differ by a little.
        let last = slot[Self.lastLook]
        let share = max(1, now > last ? now - last : 0)
        slot[Self.lastLook] = max(now, last)
        slot[Self.shared] &+= share
        // Xorshift: good enough to draw lots.
        var random = slot[Self.random]
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        slot[Self.random] = random
        if random % slot[Self.shared] < share {
            record.setHolder(at: site)
        }
    }

    /// Ends a wait, and records it.
    func end(_ index: Int) {
        let (slot, record) = slot(index)
        let weight = slot[Self.weight]
        while !exchange(slot, State.active, State.ended) {
            if exchange(slot, State.busy, State.abandoned) {
                table.lose(weight)
                return
            }
        }
        let now = latchkey_system_nanoseconds()
        let since = slot[Self.since]
        let (delay, isTooLong) = (now > since ? now - since : 0)
            .multipliedReportingOverflow(by: weight)
        table.add(record, count: weight, nanoseconds: isTooLong ? .max : delay)
        free(index, slot)
    }

    // MARK: slots

    private typealias Slot = ProfileRecord

    private func slot(_ index: Int) -> (Slot, ProfileRecord) {
        let words = unsafe words + index * Self.stride
        return unsafe (Slot(words), ProfileRecord(words + Self.record))
    }

    private func take() -> Int? {
        var bits = open.load(ordering: .relaxed)
        while bits != 0 {
            // Acquiring pairs with `free`.
            let (isTaken, found) = open.compareExchange(
                expected: bits,
                desired: bits & (bits &- 1),
                ordering: .acquiring
            )
            if isTaken { return bits.trailingZeroBitCount }
            bits = found
        }
        return nil
    }

    private func free(_ index: Int, _ slot: Slot) {
        move(slot, to: State.open)
        open.bitwiseOr(1 << UInt64(index), ordering: .releasing)
    }

    private func move(_ slot: Slot, to state: UInt64) {
        unsafe slot.words[Self.state].store(state, ordering: .releasing)
    }

    private func exchange(_ slot: Slot, _ state: UInt64, _ next: UInt64) -> Bool {
        unsafe slot.words[Self.state].compareExchange(
            expected: state,
            desired: next,
            ordering: .acquiringAndReleasing
        ).exchanged
    }
}
