package io.hyperslab.spark.writing;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.hyperslab.ConflictException;
import io.hyperslab.HyperslabException;
import io.hyperslab.InternalException;
import io.hyperslab.IoException;
import io.hyperslab.StagedWrite;
import io.hyperslab.UnsupportedException;
import io.hyperslab.spark.hadoop.HadoopEntry;
import io.hyperslab.spark.hadoop.HadoopFiles;
import io.hyperslab.spark.hadoop.HadoopLeftovers;
import io.hyperslab.spark.hadoop.HadoopMaster;
import io.hyperslab.spark.hadoop.HadoopOutput;
import io.hyperslab.spark.hadoop.LocalFolder;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The driver's side of a write to a Hadoop file system. Each task writes its subfile locally and copies it below the folder {@code
 * out.h5.d}; the driver writes the master locally, and {@link HadoopMaster} puts it into its place.
 */
final class HadoopBatch implements BatchWrite {
  /** The file that tasks look for: without it, the write was aborted. */
  static final String BEGUN = "begun";

  private static final Logger LOG = LoggerFactory.getLogger(HadoopBatch.class);
  private static final ObjectMapper JSON = new ObjectMapper();

  private final HadoopFiles files;
  private final HadoopOutput output;
  private final WriteOptions options;
  private final StructType schema;
  private final String request;
  private final String address;
  private final HadoopMaster master;
  private final HadoopMaster.State base;

  private LocalFolder local;
  private StagedWrite write;
  /** Address of the folder with the subfiles of this write; its name is the identifier of the write. */
  private String folder;

  HadoopBatch(WriteOptions options, StructType schema, String request) {
    this.options = options;
    this.schema = schema;
    files = options.hadoop();
    output = new HadoopOutput(files);
    address = files.address(options.path());
    master = new HadoopMaster(files, address);
    base = master.state();
    check();
    // The state of the file is known: the commit fails if it changes after this check.
    this.request = isAppending()
        ? AppendedColumns.request(options, schema, address, files.sessionOptions())
        : request;
  }

  /** Refuses what the mode does not allow. */
  private void check() {
    if (!base.exists()) {
      return;
    }
    String mode = options.mode();
    if (mode.equals("create")) {
      throw new ConflictException("there is a file of this name already", address, null, null);
    } else if (mode.equals("append") && base.commit == null) {
      throw new UnsupportedException(
          "appending to a file that was not written by Spark or many writers", address, null, null);
    } else if (mode.equals("overwrite") && options.replacesDataset()) {
      throw new UnsupportedException(
          "option replaceDataset is not supported on a Hadoop file system: append another dataset, or write a local file",
          address,
          null,
          null);
    } else if (mode.equals("overwrite") && options.replaceable() != null) {
      StagedWrite.checkLosses(address, options.replaceable(), files.sessionOptions());
    }
  }

  private boolean isAppending() {
    return base.exists() && options.mode().equals("append");
  }

  private String id() {
    return folder.substring(folder.lastIndexOf('/') + 1);
  }

  @Override
  public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
    boolean records = options.records();
    boolean nullsAreNan = options.nullsAreNan();
    HadoopLeftovers.remove(output, master.container());
    local = new LocalFolder();
    try {
      int name = address.lastIndexOf('/') + 1;
      write = new StagedWrite(local.path.toString(), address.substring(name));
      folder = address.substring(0, name) + write.subfolder();
      // Last of the steps that can fail: Spark does not call abort for errors before tasks run.
      output.put(folder + "/" + BEGUN, new byte[0]);
    } catch (RuntimeException error) {
      local.close();
      throw error;
    }
    return new HadoopRowWriter.Factory(
        files, folder, write.plan(), schema, request, records, nullsAreNan);
  }

  @Override
  public void commit(WriterCommitMessage[] messages) {
    byte[][] fragments = Arrays.stream(messages)
        .filter(message -> message != null && ((RowWriter.Message) message).fragment != null)
        .map(message -> ((RowWriter.Message) message).fragment)
        .toArray(byte[][]::new);
    Path staged = local.path.resolve("staged.h5");
    byte[] record = write.stage(
        fragments,
        isAppending() ? null : base.commit,
        isAppending() ? present() : null,
        staged + "");
    Map<String, Long> subfiles = subfiles(record);
    checkSubfiles(subfiles);
    output.put(folder + "/" + HadoopLeftovers.RECORD, record);
    try {
      master.publish(base, staged, id());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted before the write was committed", error);
    }
    clean(subfiles.keySet());
  }

  /** A local copy of the master that this write adds to. */
  private String present() {
    Path copy = local.path.resolve("present.h5");
    output.download(address, copy);
    if (!master.state().equals(base)) {
      throw new ConflictException(
          "the file has changed since this write began: another process has written it; write again",
          address,
          null,
          null);
    }
    return copy.toString();
  }

  /** Names and lengths of the subfiles in a record. */
  private static Map<String, Long> subfiles(byte[] record) {
    Map<String, Long> subfiles = new HashMap<>();
    try {
      for (JsonNode subfile : JSON.readTree(record).get("subfiles")) {
        subfiles.put(subfile.get("name").asText(), subfile.get("bytes").asLong());
      }
    } catch (IOException error) {
      throw new InternalException("the record of a commit is invalid JSON: " + error.getMessage());
    }
    return subfiles;
  }

  private void checkSubfiles(Map<String, Long> subfiles) {
    Map<String, Long> found = new HashMap<>();
    for (HadoopEntry file : output.filesBelow(folder)) {
      found.put(file.name, file.length);
    }
    subfiles.forEach((name, length) -> {
      if (!length.equals(found.get(name))) {
        throw new IoException(
            "the subfile of a task is not in its place, or has another length: was it removed by another program?",
            folder + "/" + name,
            null,
            null);
      }
    });
  }

  /** Removes what the commit does not use: subfiles of other attempts, and what tasks look for. */
  private void clean(Set<String> subfiles) {
    Set<String> used = new HashSet<>(subfiles);
    used.add(HadoopLeftovers.RECORD);
    try {
      local.close();
      for (HadoopEntry file : output.filesBelow(folder)) {
        if (!used.contains(file.name)) {
          output.remove(file.address);
        }
      }
      master.removeSuperseded(base, id());
    } catch (HyperslabException error) {
      // The write is visible, and leftovers are harmless.
      LOG.warn("leftover files next to {} stay: {}", address, error.getMessage());
    }
  }

  @Override
  public void abort(WriterCommitMessage[] messages) {
    try {
      // An error may have come after the commit. If that is not known, nothing is removed.
      if (!master.isCommitted(id())) {
        output.remove(folder + "/" + BEGUN);
        output.remove(folder);
      }
    } finally {
      local.close();
    }
  }
}
