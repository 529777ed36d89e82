//! Controllers of which each connection has one: their enum, and its dispatch.

/// Makes the enum of several controllers. It is a
/// [`CongestionControl`](crate::packet::CongestionControl) that does what the one in it does.
macro_rules! one_of {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$doc:meta])* $variant:ident($type:ty),)+
        }
    ) => {
        $(#[$meta])*
        // The variant's number comes first, beside what is used most.
        #[derive(Clone, Debug)]
        #[repr(C, u8)]
        pub enum $name {
            $($(#[$doc])* $variant($type),)+
        }

        impl $crate::packet::CongestionControl for $name {
            fn requirements(&self) -> $crate::packet::Requirements {
                match self {
                    $(Self::$variant(controller) => controller.requirements(),)+
                }
            }

            fn on_open(&mut self, payload: forebay_units::Bytes) {
                match self {
                    $(Self::$variant(controller) => controller.on_open(payload),)+
                }
            }

            fn on_sample(
                &mut self,
                window: &mut $crate::packet::Window,
                sample: &$crate::packet::Sample,
                path: &$crate::packet::Path,
            ) {
                match self {
                    $(Self::$variant(controller) => controller.on_sample(window, sample, path),)+
                }
            }

            fn on_telemetry(&mut self, links: &[$crate::telemetry::LinkTelemetry]) {
                match self {
                    $(Self::$variant(controller) => controller.on_telemetry(links),)+
                }
            }

            fn recovery_floor(&self, window: &$crate::packet::Window) -> f64 {
                match self {
                    $(Self::$variant(controller) => controller.recovery_floor(window),)+
                }
            }

            fn pacing(
                &self,
                window: &$crate::packet::Window,
                path: &$crate::packet::Path,
            ) -> Option<$crate::packet::Pace> {
                match self {
                    $(Self::$variant(controller) => controller.pacing(window, path),)+
                }
            }

            #[inline]
            fn on_ack(
                &mut self,
                window: &mut $crate::packet::Window,
                ack: &$crate::packet::Ack,
                path: &$crate::packet::Path,
            ) {
                match self {
                    $(Self::$variant(controller) => controller.on_ack(window, ack, path),)+
                }
            }

            fn on_idle(
                &mut self,
                window: &mut $crate::packet::Window,
                idle: &$crate::packet::Idle,
            ) {
                match self {
                    $(Self::$variant(controller) => controller.on_idle(window, idle),)+
                }
            }

            fn on_congestion_event(
                &mut self,
                window: &mut $crate::packet::Window,
                event: $crate::packet::CongestionEvent,
                now: forebay_units::Time,
                path: &$crate::packet::Path,
            ) {
                match self {
                    $(Self::$variant(controller) => {
                        controller.on_congestion_event(window, event, now, path);
                    })+
                }
            }

            /// Another controller's state is nothing to go by.
            fn on_undo(&mut self, before: &Self) {
                match (self, before) {
                    $((Self::$variant(controller), Self::$variant(before)) => {
                        controller.on_undo(before);
                    })+
                    _ => {}
                }
            }
        }
    };
}

pub(crate) use one_of;
