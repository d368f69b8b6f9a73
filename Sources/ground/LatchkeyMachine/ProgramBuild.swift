internal import CLatchkeyMachine

/// The build of the program that runs.
package enum ProgramBuild {
    private static let byteCountMax = 64

    /// The build ID that the linker has written into the program to tell its builds apart, in
    /// hexadecimal; nil if there is none.
    package static let identifier: String? = {
        var bytes = [UInt8](repeating: 0, count: byteCountMax)
        let count = unsafe latchkey_machine_build(&bytes, Int32(byteCountMax))
        let digits = Array("0123456789abcdef")
        let text = bytes.prefix(Int(count)).flatMap {
            [digits[Int($0 >> 4)], digits[Int($0 & 15)]]
        }
        return text.isEmpty ? nil : String(text)
    }()
}
