package io.hyperslab.spark.writing;

import io.hyperslab.FileWrite;
import io.hyperslab.IoException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Pattern;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.write.BatchWrite;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The data source that writes in parallel; {@link SaveModes} delegates to it. Not for users: it is public because Spark
 * instantiates the class by its name.
 */
public final class WriteSource implements TableProvider {
  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return new StructType();
  }

  @Override
  public boolean supportsExternalMetadata() {
    return true;
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Target(schema);
  }

  private static final class Target implements SupportsWrite {
    private final StructType schema;

    Target(StructType schema) {
      this.schema = schema;
    }

    @Override
    public String name() {
      return "hdf5";
    }

    @Override
    public StructType schema() {
      return schema;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return EnumSet.of(TableCapability.BATCH_WRITE, TableCapability.ACCEPT_ANY_SCHEMA);
    }

    @Override
    public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
      WriteOptions options = new WriteOptions(info.options().asCaseSensitiveMap());
      int partitionColumns = options.partitionColumns().size();
      StructField[] fields = info.schema().fields();
      StructType stored = new StructType(Arrays.copyOf(fields, fields.length - partitionColumns));
      String request = options.request(stored);
      FileWrite.check(request);
      return new WriteBuilder() {
        @Override
        public Write build() {
          return new Write() {
            @Override
            public String description() {
              return "hdf5 " + options.path();
            }

            @Override
            public BatchWrite toBatch() {
              if (partitionColumns > 0) {
                return new PartitionedBatch(options, stored, request);
              }
              return options.isRemote()
                  ? new HadoopBatch(options, stored, request)
                  : new FileBatch(options, stored, request);
            }
          };
        }
      };
    }
  }

  /** The driver's side of a write: plans it, and commits the fragments in the tasks' messages. */
  private static final class FileBatch implements BatchWrite {
    private final FileWrite write;
    private final StructType schema;
    private final WriteOptions options;
    private final String request;

    /** The file in which a dataset is replaced; null if the whole file is written. */
    private final String replacedIn;

    private boolean isMoved;

    FileBatch(WriteOptions options, StructType schema, String request) {
      this.options = options;
      this.schema = schema;
      Path file = Paths.get(options.path());
      if (options.replacesDataset() && options.mode().equals("overwrite") && Files.exists(file)) {
        replacedIn = file.toString();
        FileWrite.checkReplaceable(replacedIn);
        String prefix = "." + file.getFileName() + ".";
        removeLeftovers(file, prefix);
        // Next to the file, so that both are on one file system.
        String name = prefix + UUID.randomUUID() + ".h5";
        write = new FileWrite(file.resolveSibling(name).toString(), "create");
      } else {
        replacedIn = null;
        write = new FileWrite(options.path(), options.mode(), options.replaceable());
      }
      // After the write was planned: its commit fails if the file changes after this check.
      this.request = options.mode().equals("append") && Files.exists(file)
          ? AppendedColumns.request(options, schema, options.path(), "{}")
          : request;
    }

    private static void removeLeftovers(Path file, String prefix) {
      Pattern names =
          Pattern.compile(Pattern.quote(prefix) + "[0-9a-f-]{36}\\.h5(\\.d|\\.single)?");
      try {
        Leftovers.remove(
            file.getParent(),
            member -> names.matcher(member.getFileName().toString()).matches());
      } catch (IOException error) {
        throw new IoException(
            "cannot remove what a killed write left: " + error, file.toString(), null, null);
      }
    }

    @Override
    public DataWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      boolean records = options.records();
      boolean nullsAreNan = options.nullsAreNan();
      // Last of the steps that can fail: Spark does not call abort for errors before tasks run.
      write.begin();
      return new RowWriterFactory(write.plan(), schema, request, records, nullsAreNan);
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      byte[][] fragments = Arrays.stream(messages)
          .filter(message -> message != null && ((RowWriter.Message) message).fragment != null)
          .map(message -> ((RowWriter.Message) message).fragment)
          .toArray(byte[][]::new);
      try {
        write.commit(fragments);
        if (replacedIn != null) {
          isMoved = true;
          write.moveInto(replacedIn, options.dataset());
        }
      } catch (InterruptedException error) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted before the write was committed", error);
      }
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
      // Moving removes what the tasks wrote, whether it fails or not.
      if (!isMoved) {
        write.abort();
      }
    }
  }
}
