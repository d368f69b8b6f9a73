/// Chooses the moments that are sampled for shadows.
///
/// **Design.** Contention needs operations that run at the same time. If one operation in 16 were
/// drawn independently, both of two concurrent operations would be drawn in 1 of 256 cases, and a
/// shadow would show almost no contention. So time is divided into slots, slots are drawn, and all
/// operations of a drawn slot are applied: within the slot the shadow gets the whole traffic.
///
/// A hash of the slot's number and the process's seed decides whether the slot is drawn. So threads
/// agree without shared state, and traffic at regular intervals does not always hit or miss.
struct ShadowSampler: Sendable {
    /// Half a millisecond: longer than most contended waits, and too short for people to notice.
    static let slotShift: UInt64 = 19

    /// One slot in this many is drawn.
    let interval: UInt64
    private let seed: UInt64

    init(interval: Int, seed: UInt64 = .random(in: .min ... .max)) {
        self.interval = UInt64(interval)
        self.seed = seed
    }

    /// A random number of the slot at this time, or `nil` if the slot is not drawn.
    func draw(at nanoseconds: UInt64) -> UInt64? {
        let number = Self.mix((nanoseconds >> Self.slotShift) &+ seed)
        // The high half decides, so that the low half of a drawn slot is still random.
        return (number >> 32) % interval == 0 ? number & 0xFFFF_FFFF : nil
    }

    /// The output function of SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom
    /// number generators*, 2014): every bit of the result depends on every bit of the number.
    static func mix(_ number: UInt64) -> UInt64 {
        var mixed = number &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
