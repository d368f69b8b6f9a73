/// Standard limits of targets above, or beside, that the texts of problems name.
///
/// A test compares them with those targets.
package enum ForeignBounds {
    package static let operationHistoryCountMax = 1000
    package static let operationByteCountMax = 64 << 20
    package static let fetchSeconds = 10
    package static let fetchByteCountMax = 1 << 20
    package static let exportCountMax = 8
}
