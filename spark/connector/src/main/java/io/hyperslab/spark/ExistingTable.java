package io.hyperslab.spark;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The table in a folder of partitions to which a write adds files. */
public final class ExistingTable {
  private final List<InputFile> files;

  /** @param folder a local folder, which may not exist yet */
  public ExistingTable(String folder) {
    List<InputFile> found =
        TableFiles.ofExisting(new ReadOptions(Collections.singletonMap("path", folder)));
    files = found == null ? Collections.emptyList() : found;
  }

  /** Whether the folder has files that readers see. */
  public boolean hasFiles() {
    return !files.isEmpty();
  }

  /** The path of one of the files, with which all others form a table. */
  public String anyFile() {
    return files.get(0).path;
  }

  /** The names of the partition columns, from the outermost inward. */
  public List<String> partitionColumns() {
    return new ArrayList<>(files.get(0).folders.keySet());
  }
}
