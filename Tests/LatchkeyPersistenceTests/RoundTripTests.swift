import LatchkeyPersistence
import Testing

@Suite("Persistence")
struct RoundTripTests {
}
