import LatchkeyStrategies
import LatchkeyTestSupport
import Testing

@testable import LatchkeyStore

/// What the observer behind the end of a publication hears.
struct PublicationObserverTests {
    @Test func `an access that gives up is passed on, issue 17`() {
        let heard = RecordingObserver()
        let observer = PublicationObserver(heard, CommitContext(limits: StoreLimits()))
        var entry = observer.asks(AccessRequest(.write))
        observer.isBlocked(&entry)
        observer.givesUp(entry)
        #expect(heard.accesses == [[.asks(.write), .isBlocked, .givesUp]])
    }
}
