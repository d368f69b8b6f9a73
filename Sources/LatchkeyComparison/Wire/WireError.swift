/// Why a comparison over HTTP cannot go on, in a sentence.
package struct WireError: Error, Equatable {
    package var message: String

    init(_ message: String) {
        self.message = message
    }
}
