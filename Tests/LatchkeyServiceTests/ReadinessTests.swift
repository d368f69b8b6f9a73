import LatchkeyTestSupport
import Testing
@testable import LatchkeyFrame

@testable import LatchkeyService

/// When a service says that it is ready.
@Suite
struct ReadinessTests {
    private func isReady(_ readiness: Readiness) -> Bool {
        readiness.checks.allSatisfy(\.isPassed)
    }

    @Test(arguments: [false, true])
    func `it is ready from the time on when all routes are served, until the drain`(
        isRecovering: Bool
    ) {
        let readiness = Readiness(isRecovering: isRecovering)
        #expect(!isReady(readiness))
        #expect(readiness.checks.first?.detail == "The service is starting.")
        readiness.opens()
        #expect(isReady(readiness) == !isRecovering)
        readiness.drains()
        #expect(!isReady(readiness))
        #expect(readiness.checks.first?.detail == "The service is shutting down.")
    }
}
