package io.hyperslab.spark;

import java.io.IOException;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * The metadata column {@code _metadata}: facts of the file that a row is from, with the members that Spark's own sources have,
 * and the dataset or group in the file.
 */
final class FileMetadata {
  static final String NAME = "_metadata";

  private static final String DATASET = "dataset";

  /** Members, with the types of Spark's own sources. A file is never cut at bytes, so its block is the whole file. */
  static final StructType TYPE = new StructType(new StructField[] {
    DataTypes.createStructField("file_path", DataTypes.StringType, false),
    DataTypes.createStructField("file_name", DataTypes.StringType, false),
    DataTypes.createStructField("file_size", DataTypes.LongType, false),
    DataTypes.createStructField("file_block_start", DataTypes.LongType, false),
    DataTypes.createStructField("file_block_length", DataTypes.LongType, false),
    DataTypes.createStructField("file_modification_time", DataTypes.TimestampType, false),
    DataTypes.createStructField(DATASET, DataTypes.StringType, false),
  });

  private FileMetadata() {}

  /**
   * The members in {@code wanted}, in its order and in Spark's internal representation; a file that vanished has size and time 0.
   * The dataset, which differs from split to split, is null: see {@link #withDataset}.
   */
  static Object[] of(InputFile file, StructType wanted) {
    String name;
    long size = 0;
    long modified = 0;
    if (file.listed != null) {
      name = file.listed.name;
      size = file.listed.length;
      modified = TimeUnit.MILLISECONDS.toMicros(file.listed.modified);
    } else {
      Path path = Paths.get(file.path);
      name = path.getFileName().toString();
      try {
        size = java.nio.file.Files.size(path);
        modified = java.nio.file.Files.getLastModifiedTime(path).to(TimeUnit.MICROSECONDS);
      } catch (IOException error) {
        // The task that reads the file reports why it cannot be read.
      }
    }
    Object[] members = new Object[wanted.length()];
    for (int i = 0; i < members.length; i++) {
      switch (wanted.fields()[i].name()) {
        case "file_path":
          members[i] = UTF8String.fromString(InputFile.uri(file.path));
          break;
        case "file_name":
          members[i] = UTF8String.fromString(name);
          break;
        case "file_block_start":
          members[i] = 0L;
          break;
        case DATASET:
          break;
        case "file_modification_time":
          members[i] = modified;
          break;
        default:
          members[i] = size;
      }
    }
    return members;
  }

  /** The members of a split of a dataset. */
  static Object[] withDataset(Object[] members, StructType wanted, String dataset) {
    Object[] all = members.clone();
    for (int i = 0; i < all.length; i++) {
      if (wanted.fields()[i].name().equals(DATASET)) {
        all[i] = UTF8String.fromString(dataset);
      }
    }
    return all;
  }
}
