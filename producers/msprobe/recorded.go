package msprobe

import "embed"

// Recorded are dumps that msProbe wrote of small models, packed by tar and gzip: a good one, one of a wrong weight and one with
// NaN. People try tensortap with them before they have dumps of their own.
//
//go:embed testdata/dumps/B00_golden_mix.tar.gz testdata/dumps/B02_weight_mix.tar.gz testdata/dumps/B14_nan_l2_mlp_step1_mix.tar.gz
var Recorded embed.FS
