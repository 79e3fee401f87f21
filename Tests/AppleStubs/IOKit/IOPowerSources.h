typedef enum {
    kIOPSLowBatteryWarningNone = 1,
    kIOPSLowBatteryWarningEarly = 2,
    kIOPSLowBatteryWarningFinal = 3
} IOPSLowBatteryWarningLevel;

#define kIOPSTimeRemainingUnlimited ((double)-2.0)

IOPSLowBatteryWarningLevel IOPSGetBatteryWarningLevel(void);
double IOPSGetTimeRemainingEstimate(void);
