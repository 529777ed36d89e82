//! The fluid engine against physics, published tables and its conservation laws.

mod changing;
mod engine;
mod ledgers;
mod limits;
mod overflow;
mod physics;
mod published_tables;
mod settings;
mod silence;
