package io.hyperslab.spark;

import io.hyperslab.InvalidInputException;
import io.hyperslab.spark.writing.Inserting;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.V1Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/**
 * Writes of SQL into a table of partition folders. {@code INSERT OVERWRITE … PARTITION (…)} replaces the folders that match
 * the values.
 */
final class InsertingPartitions implements SupportsOverwriteV2 {
  private final Inserting inserting;
  private final Path folder;
  private final PartitionFilter filter;

  InsertingPartitions(
      String path,
      Map<String, String> properties,
      List<String> partitionColumns,
      StructType schema,
      ReadOptions options) {
    folder = Paths.get(path);
    PartitionFolders folders = new PartitionFolders(
        Files.hasPartitions(folder) ? Files.ofTable(options) : Collections.emptyList(),
        partitionColumns);
    if (!folders.names().equals(partitionColumns)) {
      throw new InvalidInputException("the table is partitioned by " + partitionColumns
          + ", but the folders in " + path + " are named " + folders.names());
    }
    filter = new PartitionFilter(folders, folders.mark(schema));
    inserting = new Inserting(path, properties, partitionColumns);
  }

  @Override
  public boolean canOverwrite(Predicate[] predicates) {
    for (Predicate predicate : predicates) {
      if (!filter.canEvaluate(predicate)) {
        return false;
      }
    }
    return true;
  }

  @Override
  public WriteBuilder overwrite(Predicate[] predicates) {
    Set<String> replaced = new TreeSet<>();
    for (InputFile file : filter.folders().files()) {
      boolean matches = true;
      for (Predicate predicate : predicates) {
        matches &= filter.matches(file, predicate);
      }
      if (matches) {
        replaced.add(PartitionFolders.innermost(folder, Paths.get(file.path)).toString());
      }
    }
    return inserting.replacing(replaced);
  }

  @Override
  public WriteBuilder truncate() {
    return inserting.truncate();
  }

  @Override
  public V1Write build() {
    return inserting.build();
  }
}
