% Files of `save -hdf5`: every class of values that Octave stores, in both precisions.
scalar = 2.5; single_scalar = single (0.1); complex_scalar = 1 + 2i; single_complex = single (3 - 4i);
matrix = reshape (1:6, 2, 3) / 7; cube = reshape (1:24, 2, 3, 4); complex_matrix = [1+2i, 3; 4, 5-6i];
not_finite = [NaN, Inf, -Inf, NA, -0]; empty = []; empty_rows = zeros (0, 3); empty_cube = zeros (2, 0, 4);
int8_values = int8 ([-128, 0, 127]); uint8_values = uint8 ([0, 255]); int16_values = int16 ([-32768; 32767]);
uint16_values = uint16 (65535); int32_values = intmin ("int32"):2^30:intmax ("int32"); uint32_values = uint32 ([0, 4294967295]);
int64_values = [intmin("int64"), intmax("int64")]; uint64_values = intmax ("uint64");
is_true = true; flags = logical ([1, 0; 0, 1]); no_flags = true (0, 2);
text = "plain"; quoted = 'single'; not_ascii = "gr\303\266\303\237e"; lines_of_text = ["one  "; "three"]; no_text = "";
steps = 1:0.5:3; long_range = 1:1000000; counting_down = 5:-1:1;
cells = {1, "two"; [3, 4], {5, {}}}; no_cells = {}; cell_column = {int8(1); true; 2i};
record.number = 1; record.inner.text = "deep"; record.inner.list = {1, "x"};
records = struct ("name", {"a", "bb"}, "value", {1, [2, 3]}); no_record = struct (); no_records = struct ("a", {});
sparse_matrix = sparse ([1, 3], [2, 3], [0.5, -1], 4, 3); sparse_complex = sparse (2, 2, 1i); sparse_flags = sparse (logical (eye (3)));
diagonal = eye (3) * 2; complex_diagonal = diag ([1i, 2]); permutation = eye (3)(:, [2, 3, 1]);
named_handle = @sin; offset = 3; anonymous_handle = @(x) x + offset;
global shared
shared = [1, 2];
long_names.a_field_with_a_name_that_is_longer_than_the_sixty_three_characters_of_others = 1;
save ("-hdf5", "all.h5")
save ("-float-hdf5", "single.h5")
save ("-hdf5", "one.h5", "matrix")
save ("-hdf5", "fields.h5", "-struct", "record")
