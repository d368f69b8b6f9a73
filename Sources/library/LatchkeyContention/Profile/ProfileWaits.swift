import LatchkeySync

/// The sampled accesses that wait now and the accesses that they wait for, and the sums of those
/// that waited.
///
/// **Design.** A waiter takes a slot before it waits, and its guard's probe has the slot's bit
/// meanwhile: each access that leaves that guard looks at the slot and may put itself into it. A
/// wait is usually caused by many holders. The one that is blamed for all of it is drawn at random,
/// each holder with the share of the wait that it was inside for (weighted reservoir sampling), so
/// that over many waits each place gets the delay that it caused. Blaming the last holder instead
/// would blame the access before the waiter in the queue, and not the one that all wait for.
///
/// *Cost.* One lock guards all of it. It is taken for one contended access in many, and by those
/// that leave a guard meanwhile. These are inside it, so they do not wait: one that finds the lock
/// taken passes by. Under an unfair lock thousands of accesses can leave during one wait. The first
/// ``looksMax`` of them are looked at, and stand for the later ones: an access begins to wait while
/// another one is inside, most likely one that stays for long.
///
/// A slot can belong to another guard by the time an access that saw the bit gets to it: so it has
/// the number of its guard.
///
/// SAFETY: `@unchecked Sendable` because the variables are used only while `lock` is held.
final class ProfileWaits: @unchecked Sendable {
    /// As many sampled waits at once as a word has bits.
    static let countMax = 64
    /// How many accesses that leave during one wait are looked at.
    static let looksMax = 32
    /// How many return addresses are kept of a holder.
    static let holderDepthMax = 40
    /// The same of a waiter.
    static let waiterDepthMax = 24

    /// Two accesses, of which one waits for the other.
    struct Pair: Hashable {
        /// The number of the lock in the profile.
        let lock: Int
        /// The waiter's mode.
        let mode: AccessMode
        let waiter: ProfileSample.Place
        /// Without a site and addresses if no thread was seen.
        var holder = ProfileSample.Place(site: .unknown, addresses: [])
    }

    /// Scaled up.
    struct Sum {
        var count: UInt64 = 0
        var nanoseconds: UInt64 = 0
    }

    struct Wait {
        /// Identifies the guard.
        let probe: UInt64
        var pair: Pair
        /// The contentions that it stands for.
        let weight: UInt64
        let since: UInt64
        var lastLook: UInt64
        var shared: UInt64 = 0
        var random: UInt64
        var looks = 0
    }

    private let lock = AdaptiveLock()
    private let capacity: Int
    private let clock: @Sendable () -> UInt64
    private var waits = [Wait?](repeating: nil, count: countMax)
    private var sums: [Pair: Sum] = [:]
    private var lostCount: UInt64 = 0

    /// - Parameters:
    ///   - capacity: How many different pairs are recorded.
    ///   - clock: The time in nanoseconds, which a test drives.
    init(capacity: Int, clock: @escaping @Sendable () -> UInt64) {
        self.capacity = capacity
        self.clock = clock
    }

    /// The sums now, and the contentions that could not be recorded.
    var recorded: (sums: [Pair: Sum], lostCount: UInt64) {
        lock.lock()
        defer { lock.unlock() }
        return (sums, lostCount)
    }

    /// Counts contentions without recording them.
    func lose(_ count: UInt64) {
        lock.lock()
        lostCount += count
        lock.unlock()
    }

    /// Begins a wait of the calling thread, at the guard with that probe.
    ///
    /// It stands for `weight` contentions. Returns its slot, or nil if all slots are in use.
    func begin(_ pair: Pair, probe: UInt64, weight: UInt64) -> Int? {
        let now = clock()
        lock.lock()
        defer { lock.unlock() }
        guard let slot = waits.firstIndex(where: { $0 == nil }) else {
            lostCount += weight
            return nil
        }
        waits[slot] = Wait(
            probe: probe,
            pair: pair,
            weight: weight,
            since: now,
            lastLook: now,
            random: now &* 0x9E37_79B9_7F4A_7C15 | 1
        )
        return slot
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
        guard lock.tryLock() else { return 0 }
        defer { lock.unlock() }
        let now = clock()
        var satisfied: UInt64 = 0
        for slot in 0..<Self.countMax where slots & 1 << UInt64(slot) != 0 {
            guard var wait = waits[slot], wait.probe == probe,
                wait.pair.mode == .write || !sharesWithReaders
            else { continue }
            if wait.draws(at: now) {
                wait.pair.holder = ProfileSample.Place(at: site, depthMax: Self.holderDepthMax)
            }
            waits[slot] = wait
            if wait.looks >= Self.looksMax {
                satisfied |= 1 << UInt64(slot)
            }
        }
        return satisfied
    }

    /// Ends a wait, and records it.
    func end(_ slot: Int) {
        let now = clock()
        lock.lock()
        defer { lock.unlock() }
        guard let wait = waits[slot] else { return }
        waits[slot] = nil
        guard sums.count < capacity || sums[wait.pair] != nil else {
            lostCount += wait.weight
            return
        }
        let (delay, isTooLong) = (now > wait.since ? now - wait.since : 0)
            .multipliedReportingOverflow(by: wait.weight)
        sums[wait.pair, default: Sum()].count &+= wait.weight
        sums[wait.pair, default: Sum()].nanoseconds &+= isTooLong ? .max : delay
    }
}

extension ProfileWaits.Wait {
    /// Whether the access that leaves now is blamed, until another one is drawn.
    mutating func draws(at now: UInt64) -> Bool {
        // The clocks of two processors may differ by a little.
        let share = max(1, now > lastLook ? now - lastLook : 0)
        lastLook = max(now, lastLook)
        shared &+= share
        looks += 1
        // Xorshift: good enough to draw lots.
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return random % shared < share
    }
}
