import java.io.File;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hdfs.MiniDFSCluster;

/** HDFS with two data nodes in this process, until its standard input ends. Prints its address. */
public final class Cluster {
  public static void main(String[] arguments) throws Exception {
    Configuration configuration = new Configuration();
    configuration.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, new File(arguments[0]).getAbsolutePath());
    // Files of the tests have several blocks.
    configuration.setLong("dfs.namenode.fs-limits.min-block-size", 4096);
    configuration.setLong("dfs.blocksize", 65536);
    configuration.setBoolean("dfs.permissions.enabled", false);
    MiniDFSCluster cluster = new MiniDFSCluster.Builder(configuration)
        .numDataNodes(2)
        .hosts(new String[] {"node-a.example", "node-b.example"})
        .build();
    cluster.waitActive();
    System.out.println("address " + cluster.getURI());
    while (System.in.read() >= 0) {}
    cluster.shutdown();
    System.exit(0);
  }
}
