#include <fmt/format.h>
#include <xgboost/c_api.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <iostream>
#include <numeric>
#include <random>
#include "tests/replay/replay.h"
#include "tests/replay/spaces.h"
#include "tuner/cost/accuracy.h"
using namespace hone; using namespace hone::replay;
struct P { std::string obj="reg:squarederror"; int rounds=100, depth=5; double eta=0.1, lambda=1, mcw=1, sub=1, col=1; int label=0; int wt=0; int bins=64; bool knobs=false; };
struct Data { std::vector<float> x; std::vector<float> s; std::vector<unsigned> groups; size_t cols=kFeatureCount; };
static float lab(float s,int l){ if(l==0) return s; if(l==1) return s>0?std::log2(std::max(s,1/64.f)):-6; if(l==2) return std::sqrt(s); return s; }
static BoosterHandle train(const Data&d,const P&p,const std::string* prior=nullptr,int r0=0){
  DMatrixHandle m; XGDMatrixCreateFromMat(d.x.data(),d.s.size(),d.cols,NAN,&m);
  std::vector<float> y,w; for(float s:d.s){ y.push_back(p.obj.rfind("rank",0)==0? s: lab(s,p.label)); w.push_back(p.wt==0?1:p.wt==1?0.1f+s:p.wt==2?0.05f+s*s:0.02f+s*s*s*s);}  
  XGDMatrixSetFloatInfo(m,"label",y.data(),y.size());
  if(p.obj.rfind("rank",0)==0) XGDMatrixSetUIntInfo(m,"group",d.groups.data(),d.groups.size()); else XGDMatrixSetFloatInfo(m,"weight",w.data(),w.size());
  BoosterHandle b; XGBoosterCreate(&m,1,&b); if(prior) XGBoosterLoadModelFromBuffer(b,prior->data(),prior->size());
  auto set=[&](const char*k,std::string v){XGBoosterSetParam(b,k,v.c_str());};
  set("objective",p.obj); set("tree_method","hist"); set("max_bin",std::to_string(p.bins)); set("max_depth",std::to_string(p.depth)); set("eta",std::to_string(p.eta)); set("min_child_weight",std::to_string(p.mcw)); set("lambda",std::to_string(p.lambda)); set("subsample",std::to_string(p.sub)); set("colsample_bytree",std::to_string(p.col)); set("nthread","1"); set("verbosity","0"); if(!prior) set("base_score","0");
  for(int i=0;i<p.rounds;++i) XGBoosterUpdateOneIter(b,r0+i,m);
  XGDMatrixFree(m); return b; }
static std::vector<float> predict(BoosterHandle b,const std::vector<float>&x,size_t n,size_t cols){ DMatrixHandle m; XGDMatrixCreateFromMat(x.data(),n,cols,NAN,&m); bst_ulong k; const float*o; XGBoosterPredict(b,m,0,0,0,&k,&o); std::vector<float> r(o,o+k); XGDMatrixFree(m); return r; }
static std::vector<std::unique_ptr<ReplayedSpace>> S;
static float speed(const ReplayedSpace&s,size_t i){ auto&c=s.at(i); return c.seconds>0? s.best_seconds()/c.seconds:0; }
static void row(const ReplayedSpace&s,size_t i,Data&d,bool knobs){ auto&c=s.at(i); d.x.insert(d.x.end(),c.features.begin(),c.features.end()); if(knobs){ for(size_t k=0;k<24;++k) d.x.push_back(k<c.choices.size()?c.choices[k]:-1);} d.s.push_back(speed(s,i)); d.cols=kFeatureCount+(knobs?24:0);} 
static Accuracy test(BoosterHandle b,const ReplayedSpace&s,const std::vector<size_t>&idx,bool knobs){ Data d; for(size_t i:idx) row(s,i,d,knobs); auto p=predict(b,d.x,idx.size(),d.cols); std::vector<Guess> g; for(size_t i=0;i<idx.size();++i) g.push_back({p[i],d.s[i]}); return accuracy_of(g);} 

static std::string save(BoosterHandle b){ bst_ulong n; const char*p; XGBoosterSaveModelToBuffer(b,R"({"format":"ubj"})",&n,&p); return std::string(p,n);} 
int main(int argc,char**argv){
  bool all=argc>2; size_t n=argc>1?atoi(argv[1]):64;
  for(auto&r:replay_spaces()){ auto path=recordings_folder()+"/"+r.name+".json.zst"; if(!std::filesystem::exists(path)) continue; auto x=load_recording(path); if(!x.ok()){std::cerr<<x.status()<<"\n";continue;} if(r.held_out && !all) continue; S.push_back(std::make_unique<ReplayedSpace>(*std::move(x))); }
  struct V{ std::string name; P prior, own; bool scale; };
  P pr{.rounds=200,.depth=6,.eta=.1,.mcw=5,.sub=.8,.col=.5}; P ow{.rounds=100,.depth=4,.eta=.1,.sub=.8,.col=.5};
  std::vector<V> W;
  auto add=[&](std::string nm,P a,P b,bool sc){ W.push_back({nm,a,b,sc}); };
  add("reg s", pr, ow, true);
  { P a=pr,b=ow; a.label=b.label=1; add("reg log",a,b,true);} 
  { P a=pr,b=ow; a.label=b.label=2; add("reg sqrt",a,b,true);} 
  { P a=pr,b=ow; a.col=.2; add("reg s prior col.2",a,b,true);} 
  { P a=pr,b=ow; a.obj=b.obj="rank:pairwise"; a.mcw=1;b.mcw=.1; add("pairwise",a,b,false);} 
  { P a=pr,b=ow; a.depth=4; add("reg s prior d4",a,b,true);} 
  { P a=pr,b=ow; a.depth=8; add("reg s prior d8",a,b,true);} 
  { P a=pr,b=ow; a.wt=b.wt=1; add("reg s w1",a,b,true);} 
  for(auto&v:W){ std::string line=fmt::format("{:20}",v.name); double A[6]={0}; for(auto&s:S){ Data d; for(auto&o:S){ if(o==s) continue; std::vector<size_t> idx(o->recording().configs.size()); std::iota(idx.begin(),idx.end(),0); std::mt19937_64 g(1); std::shuffle(idx.begin(),idx.end(),g); idx.resize(std::min<size_t>(800,idx.size())); for(size_t i:idx) row(*o,i,d,false); d.groups.push_back(idx.size()); }
    auto b=train(d,v.prior); std::string bytes=save(b); double z=0,zz[3]={0},q[3]={0}; int R=4; (void)z;
    for(int t=0;t<R;++t){ std::vector<size_t> o(s->recording().configs.size()); std::iota(o.begin(),o.end(),0); std::mt19937_64 g(t); std::shuffle(o.begin(),o.end(),g); std::vector<size_t> rest(o.begin()+n,o.end()); if(t==0){ auto acc=test(b,*s,rest,false); zz[0]=*acc.pairwise;zz[1]=*acc.peak1;zz[2]=*acc.peak5;} Data own; for(size_t i=0;i<n;++i) row(*s,o[i],own,false); own.groups={(unsigned)n};
      if(v.scale && v.own.label!=1){ auto p=predict(b,own.x,n,own.cols); double ps=0,ss=0; for(size_t i=0;i<n;++i){ double y=lab(own.s[i],v.own.label); ps+=p[i]*y; ss+=y*y;} double c=ps/ss; if(v.own.label==2) c*=c; for(auto&x:own.s) x*=c; }
      auto m=train(own,v.own,&bytes,v.prior.rounds); auto acc=test(m,*s,rest,false); q[0]+=*acc.pairwise/R;q[1]+=*acc.peak1/R;q[2]+=*acc.peak5/R; XGBoosterFree(m);} XGBoosterFree(b);
    line+=fmt::format(" | {} {:.2f} {:.2f} {:.2f}>{:.2f} {:.2f} {:.2f}",s->recording().name,zz[0],zz[1],zz[2],q[0],q[1],q[2]); for(int i=0;i<3;++i){A[i]+=zz[i]/S.size();A[3+i]+=q[i]/S.size();} }
   std::cout<<line<<fmt::format(" || {:.3f} {:.3f} {:.3f} > {:.3f} {:.3f} {:.3f}",A[0],A[1],A[2],A[3],A[4],A[5])<<std::endl; }
}
