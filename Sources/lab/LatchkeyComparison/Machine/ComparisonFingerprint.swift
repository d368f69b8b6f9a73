import LatchkeyMachine

extension ComparisonReport.Fingerprint {
    /// Looks at the machine and the build.
    package init(version: String, mutex: ComparisonReport.MutexObservation) {
        let found = LatchkeyMachine.Fingerprint(
            LatchkeyMachine.Fingerprint.Context(version: version)
        )
        self.init(
            latchkeyVersion: version,
            swiftVersionAtLeast: found.swiftVersionAtLeast,
            configuration: found.configuration,
            mutex: mutex,
            operatingSystem: found.operatingSystem,
            kernel: found.kernel,
            architecture: found.architecture,
            processorModel: found.processorModel,
            hypervisor: Self.hypervisor,
            processorsOnline: found.processorsOnline,
            processorsAllowed: found.processorsAllowed,
            processorQuota: found.processorQuota,
            frequencyGovernor: SystemFile.line(
                "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
            ),
            memoryBytes: found.memoryBytes ?? 0,
            clockSource: found.clockSource
        )
    }

    /// The maker of the virtual machine, or `yes` if the processor only says that it is one.
    private static var hypervisor: String? {
        let flags = SystemFile.field("flags", ":", in: "/proc/cpuinfo")
        guard flags?.contains(" hypervisor") == true else { return nil }
        return SystemFile.line("/sys/class/dmi/id/sys_vendor") ?? "yes"
    }
}
