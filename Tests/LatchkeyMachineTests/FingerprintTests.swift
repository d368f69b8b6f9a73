import Testing

@testable import LatchkeyMachine

@Suite struct Fingerprints {
    @Test func `say what they found`() {
        let context = Fingerprint.Context(version: "1.2.3", httpThreads: "event-loop 2")
        let fingerprint = Fingerprint(context)
        #expect(fingerprint.context == context)
        #expect(fingerprint.processorsOnline >= 1)
        #expect(fingerprint.memoryBytes ?? 0 > 1 << 20)
        #expect(fingerprint.loadAverage.count == 3)
        #expect(fingerprint.kernel?.isEmpty == false)
        #expect(fingerprint.processorsAllowed?.isEmpty == false)
    }

    @Test(arguments: [
        ("200000 100000", 2.0), ("50000 100000", 0.5), ("max 100000", nil), ("", nil),
        ("1 0", nil),
    ])
    func `know a control group's quota`(line: String, quota: Double?) {
        #expect(ControlGroup.quota(line) == quota)
    }
}
