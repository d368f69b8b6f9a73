internal import CLatchkeySystem
package import LatchkeyGuards

extension AccessTiming {
    /// The value of the field `Server-Timing` (W3C Server Timing), in milliseconds.
    package func field(startedNanoseconds: UInt64) -> String {
        let total = latchkey_system_nanoseconds() &- startedNanoseconds
        return "wait;dur=\(Self.milliseconds(waitNanoseconds)), "
            + "hold;dur=\(Self.milliseconds(holdNanoseconds)), "
            + "total;dur=\(Self.milliseconds(total))"
    }

    private static func milliseconds(_ nanoseconds: UInt64) -> Double {
        (Double(nanoseconds) / 1000).rounded() / 1000
    }
}
