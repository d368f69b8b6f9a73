import CLatchkeySystem
import LatchkeySync
import Synchronization

/// The places of two accesses, of which one waits for the other, in words that several threads use.
///
/// **Design.** The same words are in the slot of a wait and in the table of what was recorded, so
/// that one is compared with and copied to the other word by word. A record orders nothing: the
/// slot's state and the entry's mark do, which their owners describe.
///
/// SAFETY: `@safe`, `@unchecked Sendable` because the words are atomic, and belong to a
/// ``ProfileTable`` or to ``ProfileWaits``, which give out records only while they live.
@safe
struct ProfileRecord: @unchecked Sendable {
    /// How many return addresses are kept of the two.
    static let holderDepthMax = 40
    static let waiterDepthMax = 24
    static let wordCount = holderPlace + 2 * placeHead + holderDepthMax + waiterDepthMax

    // The lock and the waiter's mode, then two places: the site, the number of the return
    // addresses, and these.
    private static let holderPlace = 1
    private static let placeHead = 3
    private static let waiterPlace = holderPlace + placeHead + holderDepthMax

    let words: UnsafeMutablePointer<Atomic<UInt64>>

    init(_ words: UnsafeMutablePointer<Atomic<UInt64>>) {
        unsafe self.words = words
    }

    /// Relaxed throughout: whoever owns the record says what orders its words.
    subscript(index: Int) -> UInt64 {
        get { unsafe words[index].load(ordering: .relaxed) }
        nonmutating set { unsafe words[index].store(newValue, ordering: .relaxed) }
    }

    /// The number of the lock in the profile.
    var lock: Int { Int(self[0] >> 1) }
    /// Whether the waiter asks for exclusive access.
    var waitsToWrite: Bool { self[0] & 1 == 1 }

    /// Begins a record of a wait, whose holder is not known yet.
    func begin(lock: Int, waitsToWrite: Bool, at site: CallSite) {
        self[0] = UInt64(lock) << 1 | (waitsToWrite ? 1 : 0)
        for index in Self.holderPlace..<Self.waiterPlace {
            self[index] = 0
        }
        set(Self.waiterPlace, site, Self.waiterDepthMax)
    }

    /// Notes the calling thread as the holder.
    func setHolder(at site: CallSite) {
        set(Self.holderPlace, site, Self.holderDepthMax)
    }

    /// Notes the site, and the calling thread's stack.
    private func set(_ place: Int, _ site: CallSite, _ depthMax: Int) {
        (self[place], self[place + 1]) = site.words
        unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: depthMax) { addresses in
            let depth = unsafe Int(
                latchkey_system_stack(addresses.baseAddress, UInt32(depthMax))
            )
            self[place + 2] = UInt64(depth)
            for index in 0..<depthMax {
                self[place + Self.placeHead + index] = index < depth ? unsafe addresses[index] : 0
            }
        }
    }

    /// Who was inside; an unknown site without addresses if no thread was seen.
    var holder: ProfileSample.Place { place(Self.holderPlace) }
    /// Who waited.
    var waiter: ProfileSample.Place { place(Self.waiterPlace) }

    private func place(_ place: Int) -> ProfileSample.Place {
        ProfileSample.Place(
            site: CallSite(words: (self[place], self[place + 1])),
            addresses: (0..<Int(self[place + 2])).map { self[place + Self.placeHead + $0] }
        )
    }

    /// A hash of all words, which is not 0.
    var hash: UInt64 {
        var hash: UInt64 = 0x9E37_79B9_7F4A_7C15
        for index in 0..<Self.wordCount {
            hash = (hash ^ self[index]) &* 0xFF51_AFD7_ED55_8CCD
            hash ^= hash >> 32
        }
        return hash | 1
    }

    func copy(to other: ProfileRecord) {
        for index in 0..<Self.wordCount {
            other[index] = self[index]
        }
    }

    func isEqual(to other: ProfileRecord) -> Bool {
        (0..<Self.wordCount).allSatisfy { self[$0] == other[$0] }
    }

    /// Words that are all 0.
    static func allocate(count: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        let words = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: count)
        for index in 0..<count {
            unsafe (words + index).initialize(to: Atomic(0))
        }
        return unsafe words
    }
}
