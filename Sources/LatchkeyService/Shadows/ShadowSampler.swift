/// Which moments are sampled for shadows: in the mean one in so many.
///
/// **Design.** Contention is about operations that meet. If each operation were drawn by itself,
/// one in sixteen, then of two that meet both would be drawn once in 256 times, and a shadow would
/// show next to no contention whatever the traffic. So time is cut into slots, slots are drawn, and
/// all operations of a drawn slot are applied: within it a shadow meets the whole traffic.
///
/// Whether a slot is drawn follows from its number alone, by a hash with the process's seed.
/// Threads agree without sharing anything, the request's start time is there already, and traffic
/// that comes at regular intervals cannot fall in step.
struct ShadowSampler: Sendable {
    /// Half a millisecond: long beside a contended wait, short beside what a person would notice.
    static let slotShift: UInt64 = 19

    /// One slot in so many is drawn.
    let interval: UInt64
    private let seed: UInt64

    init(interval: Int, seed: UInt64 = .random(in: .min ... .max)) {
        self.interval = UInt64(interval)
        self.seed = seed
    }

    /// A random number that belongs to the slot of this time, `nil` if the slot is not drawn.
    func draw(at nanoseconds: UInt64) -> UInt64? {
        let number = Self.mix((nanoseconds >> Self.slotShift) &+ seed)
        // The high half decides, so that the low half is still random in what is drawn.
        return (number >> 32) % interval == 0 ? number & 0xFFFF_FFFF : nil
    }

    /// The output function of SplitMix64 (Steele, Lea and Flood, *Fast splittable pseudorandom
    /// number generators*, 2014): every bit of the result depends on every bit of the number.
    private static func mix(_ number: UInt64) -> UInt64 {
        var mixed = number &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
